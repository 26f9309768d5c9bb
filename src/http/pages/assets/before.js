// Runs before Scalar: its checks are to be interpreted, not compiled at run time, which the page's security policy forbids.
globalThis.__zod_globalConfig = { jitless: true };
