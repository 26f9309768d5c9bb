// Starts the service entry of this folder, which dies at a named point, instead of `genrouter serve`.
import { join } from "node:path";
import { listening, type ServicePlace, type ServiceProcess, spawnServing } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, entry } from "../../src/torture/crash/processes.ts";

/** `place.env` contains `CRASH_AT` and the other variables that `service.ts` reads. Does not wait. */
export const spawnHooked = (place: ServicePlace): Child => spawnServing(entry(join(import.meta.dir, "service.ts")), place);

/** Starts it, and waits until it listens. */
export const startHooked = (place: ServicePlace): Promise<ServiceProcess> => listening(spawnHooked(place));
