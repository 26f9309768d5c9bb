// The scenarios of ../api/callbacks.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/callbacks.test.ts"));
