// What the browser tests do inside a page: plain functions of the browser, put into every page before its own scripts.
const until = (target, event) => new Promise((heard) => target.addEventListener(event, heard, { once: true }));

document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error(`policy: ${violatedDirective} ${blockedURI}`),
);

globalThis.inPage = {
  /** Brings everything into view once, as a reader does: parts of the reference are made only then. */
  readThrough: async () => {
    for (let top = 0; top < document.body.scrollHeight; top += innerHeight) {
      scrollTo(0, top);
      await new Promise(requestAnimationFrame);
    }
    scrollTo(0, 0);
  },
  /** Pixels that the page is wider than the screen. */
  overhang: () => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth,
  /** Short words that are broken in two although the page has room for them, with what stands around them. */
  brokenWords: () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      // What is for screen readers alone is one pixel wide.
      if (text.parentElement.getBoundingClientRect().width <= 1) continue;
      // A longer run of letters, an id or an address, may have to be broken on a phone; so may what has a hyphen.
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
  /** The rows of the page's first table: pixels to scroll sideways in it, the labels that a whole row shows, and how rows are laid out. */
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
  /** Whether the innermost active state of the chart is seen whole: inside its frame, on the screen, below what stays at the top. */
  activeInSight: () => {
    const frame = document.querySelector(".chart-frame").getBoundingClientRect();
    const boxes = [...document.querySelectorAll(".chart-state.is-active > .chart-box")].map((box) => box.getBoundingClientRect());
    const box = boxes.sort((a, b) => a.width * a.height - b.width * b.height)[0];
    const covers = [...document.querySelectorAll(".top, .replay-time")].map((cover) => cover.getBoundingClientRect().bottom);
    const [top, bottom] = [Math.max(frame.top, 0, ...covers), Math.min(frame.bottom, innerHeight)];
    return box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= top - 1 && box.bottom <= bottom + 1;
  },
  /** Waits until it is; throws where it does not come to that. */
  broughtIntoSight: async () => {
    for (let frames = 0; frames < 300; frames++) {
      if (globalThis.inPage.activeInSight()) return;
      await new Promise(requestAnimationFrame);
    }
    throw new Error("the active state is not brought into sight");
  },
  /** Drags the chart as far as it goes from its active state; says whether that is out of sight now. */
  panAway: () => {
    const frame = document.querySelector(".chart-frame");
    const corners = [0, frame.scrollHeight].flatMap((top) => [0, frame.scrollWidth].map((left) => ({ left, top })));
    return corners.some((corner) => {
      frame.scrollTo({ ...corner, behavior: "instant" });
      return !globalThis.inPage.activeInSight();
    });
  },
  /** From now on the ways in which parts of the page are scrolled are kept. */
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
  /** What whoever hears the page is told of what has the focus. */
  focusedName: () => {
    const { labels, textContent } = document.activeElement;
    return (labels?.[0]?.textContent ?? document.activeElement.getAttribute("aria-label") ?? textContent).trim();
  },
  target: () => document.querySelector(":target h3")?.textContent,
  /** Faults of access that axe calls serious or critical, as `rule: place`. */
  faults: async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  },
  /** The width in pixels of the page's first picture that was made, once it has come and can be drawn. */
  seen: async () => {
    const picture = document.querySelector("main article img");
    picture.scrollIntoView();
    await picture.decode();
    return picture.naturalWidth;
  },
  knowsH264: () => document.createElement("video").canPlayType('video/mp4; codecs="avc1.42E01E"') !== "",
  /** Plays the page's video for a moment, then goes to second 3 of it. */
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
