// The scenarios of ../api/provider-files.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/provider-files.test.ts"));
