// Loaded before the tests of a process (bunfig.toml): judges the longest pause of the loop once all of them have run.
import { afterAll } from "bun:test";
import { judge } from "./harness.ts";

afterAll(judge);
