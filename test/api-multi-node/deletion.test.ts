// The scenarios of ../api/deletion.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/deletion.test.ts"));
