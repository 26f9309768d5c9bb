// The scenarios of ../api/files.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/files.test.ts"));
