// The writing thread of the control: that of the service with fewer syncs. The order of the imports matters.
import "./relaxed-sync.ts";
import "../../src/store/sqlite/worker.ts";
