// The scenarios of ../api/providers.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/providers.test.ts"));
