// The scenarios of ../api/fallback.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/fallback.test.ts"));
