// Dialogs for the key of a provider: save and test one, or remove the stored one.
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { KeySet, ProviderAccount } from "../../../src/console/operator-dto.ts";
import { call } from "../../components/api.ts";
import { operatorWords } from "../../words/operator-words.ts";
import { DialogState, TextField } from "./dialog.tsx";
import { checksText } from "./key-check-text.ts";
import { API } from "./page.tsx";

type Props = { of: ProviderAccount; close: () => void; done: (text: string) => void };

const pathOf = ({ account }: ProviderAccount): string => `${API}/providers/${encodeURIComponent(account)}/key`;

/** A rejected key stays in the dialog with the answer of the provider, so that another can be entered at once. */
export const SetKey = ({ of, close, done, again }: Props & { again: () => void }): VNode => {
  const [key, setKey] = useState("");
  const { providers: says } = operatorWords;
  const run = async () => {
    if (key.trim() === "") return says.keyFault;
    const { isShadowed, checks } = await call<KeySet>("POST", pathOf(of), { key: key.trim() });
    if (isShadowed) {
      done(says.savedUnused);
      return undefined;
    }
    const text = `${says.saved} ${checks.length === 0 ? says.noneToTest : checksText(checks)}`;
    if (checks.some(({ kind }) => kind === "refused")) {
      again();
      return text;
    }
    done(text);
    return undefined;
  };
  const example = of.keyExample === null ? "" : ` ${says.example(of.keyExample)}`;
  return (
    <DialogState title={says.title(of.name)} does={says.saveAndTest} close={close} run={run}>
      <TextField
        says={says.keyField}
        isRequired
        isSecret
        value={key}
        set={setKey}
        maxLength={4096}
        about={`${says.keyAbout}${example} ${says.testAbout}`}
      />
    </DialogState>
  );
};

export const DropKey = ({ of, close, done }: Props): VNode => {
  const { providers: says } = operatorWords;
  const isInUse = of.interfaces.some(({ key }) => key?.from === "vault");
  const run = async () => {
    await call("DELETE", pathOf(of));
    done(says.removed(of.name));
    return undefined;
  };
  return (
    <DialogState title={says.removeTitle(of.name)} does={says.remove} isDanger close={close} run={run}>
      <p>{isInUse ? says.removeAbout : says.removeUnused}</p>
    </DialogState>
  );
};
