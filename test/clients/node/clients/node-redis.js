// redis 5 and 6.
'use strict';

module.exports = ({ createClient }, { protocol }) => ({
    async connect({ host, port, retry = true, clientName, ...login }) {
        const client = createClient({
            ...login,
            name: clientName,
            RESP: protocol,
            socket: { host, port, reconnectStrategy: retry && 50 },
        });
        // Without a listener an interrupted connection ends the process.
        client.on('error', () => {});
        await client.connect();
        return {
            ping: () => client.ping(),
            info: () => client.sendCommand(['CLIENT', 'INFO']),
            get: key => client.get(key),
            mget: keys => client.mGet(keys),
            hgetall: key => client.hGetAll(key),
            set: (key, value) => client.set(key, value),
            del: key => client.del(key),
            pipeline: keys => Promise.all(keys.map(key => client.get(key))),
            close: () => client.close(),
        };
    },
});
