// The scenarios of ../api/account-events.test.ts on three nodes.
import { onThreeNodes } from "./three.ts";

onThreeNodes(() => import.meta.require("../api/account-events.test.ts"));
