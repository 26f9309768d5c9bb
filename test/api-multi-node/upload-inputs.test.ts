// The scenarios of ../api/upload-inputs.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/upload-inputs.test.ts"));
