// One client, through all steps:  node main.js CLIENT PROTOCOL
//
// The client is a package of package.json; where it is and what it is to be asked for stands in the environment:
//   ENDPOINT_HOST, ENDPOINT_PORT            where
//   ENDPOINT_ROLE, ENDPOINT_PASSWORD        for a login; without one, a connection acts as the default role
//   ENDPOINT_ROW                            a number of a row that no other client writes
//   KILL_WORKERS                            a command that ends the workers which serve the endpoint
//
// Prints "version X", then "ok STEP" or "not ok STEP: why" for each.  Ends by itself: a connection or a timer that
// close() left behind keeps the process alive, and the caller's time limit finds out.
'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { steps } = require('./steps');

const adapters = {
    'redis-5': 'node-redis', 'redis-6': 'node-redis',
    'ioredis-5': 'ioredis', 'ioredis-6': 'ioredis', 'iovalkey': 'ioredis',
    '@valkey/valkey-glide': 'glide',
};

async function main(name, protocol) {
    const adapter = require(`./clients/${adapters[name]}`)(require(name), { name, protocol });
    const context = { connect: options => adapter.connect({ ...place(), ...options }), protocol };

    console.log(`version ${version(name)}`);
    for (const [step, run] of steps) {
        try {
            await within(30, run(context));
            console.log(`ok ${step}`);
        } catch (error) {
            console.log(`not ok ${step}: ${String(error?.message ?? error).replace(/\s+/g, ' ')}`);
            if (step === 'connect')
                process.exit(1);
        }
    }
}

// require() would ask the package, which may keep its package.json to itself.
function version(name) {
    return JSON.parse(readFileSync(join(__dirname, 'node_modules', name, 'package.json'))).version;
}

function place() {
    return { host: process.env.ENDPOINT_HOST, port: Number(process.env.ENDPOINT_PORT) };
}

// A step that hangs must not hide the ones after it.
function within(seconds, promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer after ${seconds} s`)), seconds * 1000);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

main(process.argv[2], Number(process.argv[3]));
