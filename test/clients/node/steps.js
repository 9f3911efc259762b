// What each client does.  ../rows.sql makes the rows.  A step gets the context, in which the first one leaves the
// client's connection.
'use strict';

const assert = require('node:assert/strict');
const { promisify } = require('node:util');
const execFile = promisify(require('node:child_process').execFile);

const ROWS = 10000;
const AWKWARD = 'Zo\u00eb said "hi"\n\u65e5\u672c \\ \ud83d\ude00';

const key = id => `CRUD:shop.public.items:{"id":${id}}`;
const text = id => `{"id":${id},"name":"item ${id}","price":${(id / 4).toFixed(2)},"note":null}`;

const steps = [
    ['connect', async context => {
        const client = context.client = await context.connect({});
        assert.equal(await client.ping(), 'PONG');
        assert.equal(field(await client.info(), 'resp'), String(context.protocol));
    }],
    ['hit', async ({ client }) => {
        assert.equal(await client.get(key(1)), text(1));
        assert.equal(await client.get(key(1)), text(1));
    }],
    ['miss', async ({ client }) => {
        assert.equal(await client.get(key(-1)), null);
        assert.equal(await client.get('session:not-a-row'), null);
    }],
    ['MGET', async ({ client }) => {
        assert.deepEqual(await client.mget([key(2), key(-1), key(1), key(2)]), [text(2), null, text(1), text(2)]);
    }],
    // A column that is null is absent; an empty string is not.
    ['HGETALL', async ({ client }) => {
        assert.deepEqual(plain(await client.hgetall(key(10001))),
            { id: '10001', name: AWKWARD, price: '0.50', note: '' });
        assert.deepEqual(plain(await client.hgetall(key(10002))),
            { id: '10002', name: 'without a note', price: '0.25' });
    }],
    ['HGETALL of no row', async ({ client }) => {
        assert.deepEqual(plain(await client.hgetall(key(-1))), {});
    }],
    // Sent without waiting, so that client and server have to keep the order.
    ['SET, GET', async ({ client }) => {
        const id = process.env.ENDPOINT_ROW;
        const row = `{"id":${id},"name":"written","price":1.50,"note":null}`;
        assert.deepEqual(
            await Promise.all([client.set(key(id), row), client.get(key(id)), client.del(key(id)), client.get(key(id))]),
            ['OK', row, 1, null]);
    }],
    ['pipeline', async ({ client }) => {
        const ids = Array.from({ length: ROWS }, (_, n) => n + 1);
        assert.deepEqual(await client.pipeline(ids.map(key)), ids.map(text));
    }],
    // The workers are gone for a second; what a client says meanwhile is its own affair.
    ['reconnect', async ({ client }) => {
        const before = field(await client.info(), 'id');
        await execFile('sh', ['-c', process.env.KILL_WORKERS]);
        assert.equal(await untilAnswered(() => client.get(key(3))), text(3));
        assert.notEqual(field(await client.info(), 'id'), before);
    }],
    ['login', async context => {
        const login = { username: process.env.ENDPOINT_ROLE, password: process.env.ENDPOINT_PASSWORD };
        const client = await context.connect({ ...login, database: 1, clientName: 'shop' });
        try {
            assert.equal(await client.get(key(4)), text(4));
            assert.equal(field(await client.info(), 'user'), login.username);
            assert.equal(field(await client.info(), 'name'), 'shop');
        } finally {
            await client.close();
        }
    }],
    ['wrong password', async context => {
        const login = { username: process.env.ENDPOINT_ROLE, password: 'wrong' };
        await assert.rejects(context.connect({ ...login, retry: false }));
    }],
    ['close', async ({ client }) => {
        await client.close();
    }],
];

// Of a line as CLIENT INFO has it: id=3 addr=127.0.0.1:4000 name= ...
function field(line, name) {
    return new RegExp(`(?:^|\\s)${name}=(\\S*)`).exec(line)?.[1];
}

// Clients differ in what an object of theirs inherits.
function plain(object) {
    return object && { ...object };
}

async function untilAnswered(read) {
    const deadline = Date.now() + 25000;

    for (;;) {
        try {
            return await read();
        } catch (error) {
            if (Date.now() > deadline)
                throw error;
            await new Promise(resolve => setTimeout(resolve, 50));
        }
    }
}

module.exports = { steps };
