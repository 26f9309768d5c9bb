// The scenarios of ../api/generation-list.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/generation-list.test.ts"));
