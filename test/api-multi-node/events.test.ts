// The scenarios of ../api/events.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/events.test.ts"));
