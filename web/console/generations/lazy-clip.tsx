// First frame of a clip in a list, loaded when the clip comes near the visible part of the page.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Distance from the visible part at which a clip is loaded. */
const NEAR = "300px";

/** Browsers load pictures lazily by an attribute, which clips do not have. */
export const LazyClip = ({ url, label }: { url: string; label: string }): VNode => {
  const place = useRef<HTMLVideoElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setNear(true);
      },
      { rootMargin: NEAR },
    );
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return <video ref={place} preload="metadata" muted playsInline src={isNear ? url : undefined} aria-label={label} />;
};
