// The scenarios of ../api/envelope.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/envelope.test.ts"));
