// What a page shows in place of a list without entries: what belongs here, and how to begin.
import type { IconNode } from "lucide";
import type { ComponentChildren, VNode } from "preact";
import { Icon } from "./icon.tsx";

type Props = { icon: IconNode; title: string; about?: string; children?: ComponentChildren };

export const EmptyState = ({ icon, title, about, children }: Props): VNode => (
  <div class="empty-state">
    <Icon of={icon} size={28} />
    <p class="empty-title">{title}</p>
    {about !== undefined && <p>{about}</p>}
    {children && <div class="empty-actions">{children}</div>}
  </div>
);
