// The scenarios of ../api/ssrf.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/ssrf.test.ts"));
