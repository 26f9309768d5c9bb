// Configures Scalar before it loads: its validators are interpreted, not compiled.
//
// The page's security policy forbids code that is compiled at run time.
globalThis.__zod_globalConfig = { jitless: true };
