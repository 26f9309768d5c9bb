// Composes mail: the queue and the notifications, if mail is set up.
import { createNotifications, NO_NOTIFICATIONS, type Notifications } from "../mail/notifications.ts";
import { createMailQueue } from "../mail/queue.ts";
import { createSmtp } from "../mail/smtp.ts";
import { isMailSet } from "../mail/validate-config.ts";
import type { ComponentList } from "./component-list.ts";
import { logMaintenanceFailure } from "./maintenance.ts";
import type { ServiceAddress } from "./service-address.ts";
import type { ComponentsDeps } from "./service-types.ts";

export const createMailComponent = (
  list: ComponentList,
  { settings, clock, log, store, mail }: ComponentsDeps,
  { baseUrl }: Pick<ServiceAddress, "baseUrl">,
): Notifications => {
  if (!isMailSet(settings.mail)) return NO_NOTIFICATIONS;
  const queue = createMailQueue({ clock, log, send: createSmtp(settings.mail, mail).send });
  const notifications = createNotifications({ clock, log, reads: store, queue, baseUrl, failed: logMaintenanceFailure(log) });
  list.add({
    name: "mail",
    stop: () => {
      notifications.stop();
      return queue.stop();
    },
  });
  return notifications;
};
