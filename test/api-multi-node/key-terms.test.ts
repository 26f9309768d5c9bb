// The scenarios of ../api/key-terms.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/key-terms.test.ts"));
