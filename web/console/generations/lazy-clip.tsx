// First frame of a clip in a list, loaded when the clip comes near the visible part of the page.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Distance from the visible part at which a clip is loaded. */
const NEAR = "300px";

/** What each clip does when it comes near. One observer serves all clips, because hundreds of them appear at once. */
const waiting = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | undefined;
const observerOfAll = (): IntersectionObserver => {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) waiting.get(target)?.();
    },
    { rootMargin: NEAR },
  );
  return observer;
};

/** Browsers load pictures lazily by an attribute, which clips do not have. */
export const LazyClip = ({ url, label }: { url: string; label: string }): VNode => {
  const place = useRef<HTMLVideoElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const clip = place.current;
    if (!clip || isNear) return;
    waiting.set(clip, () => setNear(true));
    observerOfAll().observe(clip);
    return () => observerOfAll().unobserve(clip);
  }, [isNear]);
  return <video ref={place} preload="metadata" muted playsInline src={isNear ? url : undefined} aria-label={label} />;
};
