// Test preload (bunfig.toml): checks the longest event loop pause after all tests of the process.
import { afterAll } from "bun:test";
import { judge } from "./harness.ts";

afterAll(judge);
