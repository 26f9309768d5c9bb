// Entry of a menu that changes something, disabled with its reason for users who may only read.
import type { IconNode } from "lucide";
import type { VNode } from "preact";
import { Icon } from "./icon.tsx";
import { lockUnless } from "./read-only.tsx";

type Props = { label: string; icon: IconNode; mayChange: boolean; isDanger?: boolean; onClick: () => void };

export const MenuEntry = ({ label, icon, mayChange, isDanger = false, onClick }: Props): VNode => (
  <button
    type="button"
    class={isDanger ? "menu-item is-danger" : "menu-item"}
    data-closes
    {...lockUnless(mayChange)}
    onClick={onClick}
  >
    <Icon of={icon} />
    {label}
  </button>
);
