// ioredis 5 and 6, and iovalkey, which began as its copy.
'use strict';

module.exports = ({ Redis }, { name, protocol }) => ({
    async connect({ host, port, retry = true, clientName, database, ...login }) {
        const client = new Redis({
            ...login,
            host, port,
            db: database,
            connectionName: clientName,
            ...(name === 'ioredis-6' && { protocol }),
            lazyConnect: true,
            retryStrategy: () => retry ? 50 : null,
        });
        // Without a listener it writes each interruption to the terminal.
        let refusal;
        client.on('error', error => { refusal ??= error; });
        await client.connect();
        // Where there is a default role, iovalkey goes on as that after its login was refused, and only says so.
        await client.ping();
        if (!retry && refusal) {
            client.disconnect();
            throw refusal;
        }
        return {
            ping: () => client.ping(),
            info: () => client.call('CLIENT', 'INFO'),
            get: key => client.get(key),
            mget: keys => client.mget(keys),
            hgetall: key => client.hgetall(key),
            set: (key, value) => client.set(key, value),
            del: key => client.del(key),
            pipeline: async keys => {
                const pipeline = client.pipeline();
                keys.forEach(key => pipeline.get(key));
                return (await pipeline.exec()).map(([error, value]) => error ?? value);
            },
            close: () => client.quit(),
        };
    },
});
