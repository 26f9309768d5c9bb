// The writing thread of the control: the service's own, but that its connection syncs less. The order of the imports matters.
import "./relaxed-sync.ts";
import "../../src/store/sqlite/worker.ts";
