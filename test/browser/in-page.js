// Functions that the browser tests call inside a page, added before the page's own scripts.
const until = (target, event) => new Promise((heard) => target.addEventListener(event, heard, { once: true }));

document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error(`policy: ${violatedDirective} ${blockedURI}`),
);

globalThis.inPage = {
  /** Scrolls through the page once, because parts of the reference are rendered only when they are visible. */
  readThrough: async () => {
    for (let top = 0; top < document.body.scrollHeight; top += innerHeight) {
      scrollTo(0, top);
      // A browser paints no frames of a page that it believes to be hidden, as once on a loaded machine.
      await new Promise((painted) => {
        requestAnimationFrame(painted);
        setTimeout(painted, 1000);
      });
    }
    scrollTo(0, 0);
  },
  /** Texts that no element of the page has. */
  lacks: (texts) => {
    const shown = new Set();
    for (const { textContent } of document.querySelectorAll("body *"))
      if (textContent.length < 200) shown.add(textContent.trim().replace(/\s+/g, " "));
    return texts.filter((text) => !shown.has(text));
  },
  /** Drops or pastes files at an element; `text` has their bytes in base64. */
  give: (element, how, files) => {
    const carried = new DataTransfer();
    for (const { name, type, text } of files)
      carried.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], name, { type }));
    const common = { bubbles: true, cancelable: true };
    if (how === "paste") element.dispatchEvent(new ClipboardEvent("paste", { ...common, clipboardData: carried }));
    else
      for (const name of ["dragenter", "dragover", "drop"])
        element.dispatchEvent(new DragEvent(name, { ...common, dataTransfer: carried }));
  },
  /** Pixels by which the page is wider than the screen. */
  overhang: () => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth,
  /** Short words that are broken although the page has space for them, with the text around them. */
  brokenWords: () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      // Text for screen readers only is one pixel wide.
      if (text.parentElement.getBoundingClientRect().width <= 1) continue;
      // Longer words, ids and addresses may be broken on a phone, and so may words with a hyphen.
      for (const { 0: word, index } of text.data.matchAll(/(?<![^\s])[^\s/-]{2,20}(?![^\s])/gu)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (tops.size > 1) broken.push(`${word} of "${text.data.trim().slice(0, 60)}"`);
      }
    }
    return broken;
  },
  /** Waits until charts have followed a change of the width. */
  settled: async () => {
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
  },
  /** Values of lists and tables that are narrower than their longest word, which an id or an address is not. */
  narrowValues: () => {
    const canvas = document.createElement("canvas").getContext("2d");
    const faults = [];
    for (const value of document.querySelectorAll("main :is(dd, dt, td, th, .figure-value)")) {
      const { width } = value.getBoundingClientRect();
      // Text for screen readers only has no place, and hidden text has no width.
      if (width <= 1 || value.querySelector(".unseen")) continue;
      const { fontStyle, fontWeight, fontSize, fontFamily, paddingLeft, paddingRight } = getComputedStyle(value);
      // The shorthand is empty beside tabular numbers, and a canvas ignores an empty font and keeps that of the value before.
      canvas.font = `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`;
      const space = width - parseFloat(paddingLeft) - parseFloat(paddingRight);
      for (const [word] of value.textContent.matchAll(/[^\s/-]+/gu)) {
        if (word.length > 20) continue;
        if (canvas.measureText(word).width > space + 2)
          faults.push(`${word} in ${Math.round(space)} px of "${value.textContent.trim().slice(0, 60)}"`);
      }
    }
    return faults;
  },
  /** The rows of the first table: horizontal overflow in pixels, the labels of the last row, and the display of rows. */
  rows: () => {
    const table = document.querySelector("table");
    const rows = [...table.querySelectorAll("tbody tr")];
    const labelsOf = (row) => [...row.cells].map((cell) => getComputedStyle(cell, "::before").content.split('"')[1]);
    return {
      overhang: table.parentElement.scrollWidth - table.parentElement.clientWidth,
      labels: labelsOf(rows.at(-1)).filter((label) => label !== undefined),
      shapes: [...new Set(rows.map((row) => getComputedStyle(row).display))],
    };
  },
  /**
   * Whether the innermost active state of the chart is fully visible: inside its frame, on the screen, below sticky parts. A
   * state outside of the level is a button beside the frame.
   */
  activeInSight: () => {
    const frame = document.querySelector(".chart-frame").getBoundingClientRect();
    const boxes = [...document.querySelectorAll(".chart-state.is-active > .chart-box")].map((box) => box.getBoundingClientRect());
    const box = boxes.sort((a, b) => a.width * a.height - b.width * b.height)[0];
    if (box === undefined) return document.querySelector(".button.chart-state.is-active") !== null;
    const covers = [...document.querySelectorAll(".top, .replay-time")].map((cover) => cover.getBoundingClientRect());
    const covered = covers.filter(({ left, right, top }) => left < box.right && right > box.left && top < frame.top);
    const [top, bottom] = [Math.max(frame.top, 0, ...covered.map((cover) => cover.bottom)), Math.min(frame.bottom, innerHeight)];
    return box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= top - 1 && box.bottom <= bottom + 1;
  },
  /** Waits until it is visible, and throws if that does not happen. */
  broughtIntoSight: async () => {
    for (let frames = 0; frames < 300; frames++) {
      if (globalThis.inPage.activeInSight()) return;
      await new Promise(requestAnimationFrame);
    }
    throw new Error("the active state did not become visible");
  },
  /** Scrolls the chart as far as possible from its active state. @returns whether the state is out of view now. */
  panOut: () => {
    const frame = document.querySelector(".chart-frame");
    const corners = [0, frame.scrollHeight].flatMap((top) => [0, frame.scrollWidth].map((left) => ({ left, top })));
    return corners.some((corner) => {
      frame.scrollTo({ ...corner, behavior: "instant" });
      return !globalThis.inPage.activeInSight();
    });
  },
  /** Pixels by which the chart is larger than its frame, and the smallest font size of its text on the screen. */
  drawing: () => {
    const frame = document.querySelector(".chart-frame");
    const svg = frame.querySelector("svg.chart");
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const letters = [...svg.querySelectorAll("text")].map((text) => Number.parseFloat(getComputedStyle(text).fontSize) * scale);
    return {
      cropped: Math.max(frame.scrollWidth - frame.clientWidth, frame.scrollHeight - frame.clientHeight),
      letters: Math.min(...letters),
    };
  },
  /** Records the behaviour of each scrollTo call from now on. */
  keepMoves: () => {
    globalThis.moves = [];
    const { scrollTo } = Element.prototype;
    Element.prototype.scrollTo = function (to) {
      globalThis.moves.push(to.behavior);
      scrollTo.call(this, to);
    };
  },
  moves: () => globalThis.moves,
  scrolled: () => scrollY,
  isDark: () => Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)?.[0] ?? 255) < 64,
  focused: () => document.activeElement?.textContent,
  /** The accessible name of the focused element. */
  focusedName: () => {
    const { labels, textContent } = document.activeElement;
    return (document.activeElement.getAttribute("aria-label") ?? labels?.[0]?.textContent ?? textContent).trim();
  },
  target: () => document.querySelector(":target h3")?.textContent,
  /** Accessibility violations that axe rates serious or critical, as `rule: place`. */
  faults: async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  },
  /** The width in pixels of the first generated picture of the page, once it is decoded. */
  seen: async () => {
    const picture = document.querySelector("main article img");
    picture.scrollIntoView();
    await picture.decode();
    return picture.naturalWidth;
  },
  knowsH264: () => document.createElement("video").canPlayType('video/mp4; codecs="avc1.42E01E"') !== "",
  /** Plays the video of the page for a moment, then seeks to second 3. */
  play: async () => {
    const video = document.querySelector("video");
    await video.play();
    while (video.currentTime === 0) await until(video, "timeupdate");
    const { currentTime, duration, videoWidth } = video;
    const sought = until(video, "seeked");
    video.currentTime = 3;
    await sought;
    const fault = video.error?.message ?? null;
    return { advanced: currentTime > 0, duration, videoWidth, soughtTo: Math.round(video.currentTime), fault };
  },
};
