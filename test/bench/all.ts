// The benches in the order in which they run; one that measures a shared stocked directory precedes the one that changes it.
import { addedLatency } from "./added-latency.ts";
import { before } from "./before.ts";
import type { Bench } from "./bench.ts";
import { content } from "./content.ts";
import { growth } from "./growth.ts";
import { hungProvider } from "./hung-provider.ts";
import { inspector } from "./inspector.ts";
import { ladder } from "./ladder.ts";
import { lifecycle } from "./lifecycle.ts";
import { lists } from "./lists.ts";
import { memory } from "./memory.ts";
import { models } from "./models.ts";
import { nodes } from "./nodes.ts";
import { lifecyclePeers } from "./peers/lifecycle-peers.ts";
import { postgresPeers } from "./peers/postgres-peers.ts";
import { routing } from "./peers/routing.ts";
import { submitPeers } from "./peers/submit-peers.ts";
import { poll } from "./poll.ts";
import { restart } from "./restart.ts";
import { start } from "./start.ts";
import { submit } from "./submit.ts";
import { submitLatency } from "./submit-latency.ts";
import { submitTail } from "./submit-tail.ts";
import { upload } from "./upload.ts";
import { waiting } from "./waiting.ts";
import { webhooks } from "./webhooks.ts";

export const BENCHES: readonly Bench[] = [
  ladder,
  submit,
  submitTail,
  submitLatency,
  poll,
  models,
  content,
  upload,
  lifecycle,
  addedLatency,
  hungProvider,
  webhooks,
  inspector,
  restart,
  memory,
  waiting,
  start,
  lists,
  growth,
  nodes,
  submitPeers,
  lifecyclePeers,
  postgresPeers,
  routing,
  before,
];
