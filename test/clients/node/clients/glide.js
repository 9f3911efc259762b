// @valkey/valkey-glide
'use strict';

module.exports = ({ GlideClient, Batch, ProtocolVersion }, { protocol }) => ({
    async connect({ host, port, clientName, database, username, password }) {
        const client = await GlideClient.createClient({
            addresses: [{ host, port }],
            credentials: password && { username, password },
            databaseId: database,
            clientName,
            protocol: protocol === 3 ? ProtocolVersion.RESP3 : ProtocolVersion.RESP2,
            requestTimeout: 5000,
            connectionBackoff: { numberOfRetries: 3, factor: 50, exponentBase: 2 },
        });
        return {
            ping: () => client.ping(),
            info: () => client.customCommand(['CLIENT', 'INFO']),
            get: key => client.get(key),
            mget: keys => client.mget(keys),
            hgetall: async key => {
                const fields = await client.hgetall(key);
                return Object.fromEntries(fields.map(({ field, value }) => [field, value]));
            },
            set: (key, value) => client.set(key, value),
            del: key => client.del([key]),
            pipeline: keys => {
                const batch = new Batch(false);
                keys.forEach(key => batch.get(key));
                return client.exec(batch, true);
            },
            close: async () => client.close(),
        };
    },
});
