// Starts the service that can be told where to die: this folder's own entry instead of `genrouter serve`.
import { join } from "node:path";
import { listening, type ServicePlace, type ServiceProcess, spawnServing } from "../../src/torture/crash/crash-fixture.ts";
import { type Child, entry } from "../../src/torture/crash/processes.ts";

/** `place.env` carries `CRASH_AT` and the rest of what `service.ts` reads. Does not wait. */
export const spawnHooked = (place: ServicePlace): Child => spawnServing(entry(join(import.meta.dir, "service.ts")), place);

/** The same, and waits until it listens. */
export const startHooked = (place: ServicePlace): Promise<ServiceProcess> => listening(spawnHooked(place));
