// `/console/components`: every component of the design system on one page, for developers who build a page.
import { Images, MoreHorizontal, Plus, Trash2 } from "lucide";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { EmptyState } from "../components/empty-state.tsx";
import { Icon } from "../components/icon.tsx";
import { Lightbox } from "../components/lightbox.tsx";
import { Menu } from "../components/menu.tsx";
import { Modal } from "../components/modal.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { Tabs } from "../components/tabs.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toast.tsx";
import { words } from "../words/console-words.ts";

/** A picture that needs no request. */
const drawn = (colour: string): string =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400"><rect width="640" height="400" fill="${colour}"/><circle cx="320" cy="200" r="120" fill="#fff" opacity=".6"/></svg>`)}`;
const PICTURES = [drawn("#4a45d6"), drawn("#156239")];
const SIZES = ["2xl", "xl", "lg", "md", "sm", "xs"] as const;

const Buttons = (): VNode => (
  <section class="card">
    <h2>{words.components.buttons}</h2>
    <div class="actions">
      <button type="button" class="button is-main">
        <Icon of={Plus} />
        {words.components.main}
      </button>
      <button type="button" class="button">
        {words.components.other}
      </button>
      <button type="button" class="button is-quiet">
        {words.components.quiet}
      </button>
      <button type="button" class="button is-danger">
        <Icon of={Trash2} />
        {words.components.danger}
      </button>
      <button type="button" class="button" disabled>
        {words.components.disabled}
      </button>
    </div>
  </section>
);

const Fields = (): VNode => (
  <section class="card">
    <h2>{words.components.fields}</h2>
    <div class="field">
      <label for="sample-text">{words.components.text}</label>
      <input id="sample-text" aria-describedby="sample-hint" />
      <span class="field-hint" id="sample-hint">
        {words.components.hint}
      </span>
    </div>
    <div class="field">
      <label for="sample-wrong">{words.components.wrong}</label>
      <input id="sample-wrong" aria-invalid="true" aria-describedby="sample-error" />
      <span class="field-fault" id="sample-error">
        {words.components.error}
      </span>
    </div>
    <div class="field">
      <label for="sample-choice">{words.components.choice}</label>
      <select id="sample-choice">
        <option>{words.components.first}</option>
        <option>{words.components.second}</option>
      </select>
    </div>
  </section>
);

const Badges = (): VNode => (
  <section class="card">
    <h2>{words.components.badges}</h2>
    <div class="actions">
      {["is-queued", "is-running", "is-succeeded", "is-failed", ""].map((name) => (
        <span key={name} class={`status ${name}`}>
          {name.replace("is-", "") || words.components.text}
        </span>
      ))}
    </div>
    {["", "is-good", "is-warn", "is-bad"].map((name) => (
      <p key={name} class={`notice ${name}`}>
        {words.components.notice}
      </p>
    ))}
  </section>
);

const Tabbed = (): VNode => {
  const [tab, setTab] = useState<"first" | "second">("first");
  const tabs = [
    { name: "first", label: words.components.first },
    { name: "second", label: words.components.second },
  ] as const;
  return (
    <section class="card">
      <h2>{words.components.tabs}</h2>
      <Tabs label={words.components.tabs} tabs={tabs} current={tab} choose={setTab}>
        <p>{words.components[tab]}</p>
      </Tabs>
    </section>
  );
};

const Overlays = (): VNode => {
  const [open, setOpen] = useState<"dialog" | number | null>(null);
  const close = () => setOpen(null);
  return (
    <section class="card">
      <h2>{words.components.overlays}</h2>
      <div class="actions">
        <Menu label={words.actions.more} icon={MoreHorizontal}>
          <button type="button" class="menu-item" data-closes onClick={() => showToast(words.components.toast)}>
            {words.components.showToast}
          </button>
        </Menu>
        <button type="button" class="button" onClick={() => setOpen("dialog")}>
          {words.components.openDialog}
        </button>
        <button type="button" class="button" onClick={() => setOpen(0)}>
          {words.components.openLightbox}
        </button>
      </div>
      {open === "dialog" && (
        <Modal title={words.components.openDialog} close={close}>
          <p>{words.components.dialogText}</p>
          <div class="dialog-buttons">
            <button type="button" class="button" onClick={close}>
              {words.actions.close}
            </button>
          </div>
        </Modal>
      )}
      {typeof open === "number" && (
        <Lightbox
          files={PICTURES.map((url, n) => ({
            ...{ url, kind: "image" as const, label: words.components.typeSample },
            inputUrl: PICTURES[1 - n],
          }))}
          at={open}
          go={setOpen}
          close={close}
        />
      )}
    </section>
  );
};

export const ComponentsPage = (): VNode => (
  <>
    <p>{words.components.about}</p>
    <div class="component-grid">
      <section class="card">
        <h2>{words.components.type}</h2>
        {SIZES.map((size) => (
          <p key={size} class={`text-${size}`}>
            {words.components.typeSample}
          </p>
        ))}
      </section>
      <Buttons />
      <Fields />
      <Badges />
      <Tabbed />
      <section class="card">
        <h2>{words.components.table}</h2>
        <table>
          <tbody>
            <tr>
              <th scope="row">{words.components.first}</th>
              <td class="number">$1,234.50</td>
              <td>
                <Time atMs={Date.now()} />
              </td>
            </tr>
          </tbody>
        </table>
      </section>
      <section class="card">
        <h2>{words.components.empty}</h2>
        <EmptyState icon={Images} title={words.components.emptyTitle} about={words.components.emptyAbout} />
      </section>
      <section class="card">
        <h2>{words.components.loading}</h2>
        <Skeleton />
      </section>
      <Overlays />
    </div>
  </>
);
