// Clips of the corpus: MP4, MOV, WebM and Matroska, with the oddities of real writers.
import { be32, box, edited, insert, made, put, type Recipe, share } from "./recipe.ts";

const PICTURE = "-f lavfi -i testsrc=s=96x64:r=25:d=3";
const TONE = "-f lavfi -i sine=d=3:r=44100";
const H264 = "-c:v libx264 -preset ultrafast -crf 40 -bf 2 -g 25 -pix_fmt yuv420p";
const AAC = "-c:a aac -b:a 32k";

const MP4: Recipe[] = [
  ...made(
    [
      ["base.mp4", `$FF ${PICTURE} ${TONE} ${H264} ${AAC} $O`],
      ["bframes.mp4", `$FF ${PICTURE} -c:v libx264 -crf 40 -bf 4 -pix_fmt yuv420p $O`],
      ["faststart.mp4", "$FF -i base.mp4 -c copy -movflags +faststart $O"],
      ["silent.mp4", `$FF ${PICTURE} ${H264} $O`],
      ["hour-of-empty-edit.mp4", "$FF -i base.mp4 -c copy -output_ts_offset 3600 $O"],
      ["late-1.5.mp4", "$FF -i base.mp4 -c copy -output_ts_offset 1.5 $O"],
      ["trimmed-front.mp4", "$FF -ss 1.3 -i base.mp4 -c copy $O"],
      ["trimmed-both.mp4", "$FF -ss 0.7 -t 1.5 -i base.mp4 -c copy $O"],
      ["negative-cts.mp4", "$FF -i base.mp4 -c copy -movflags +negative_cts_offsets $O"],
      ["no-edit-list.mp4", "$FF -i base.mp4 -c copy -use_editlist 0 $O"],
      ["fragments.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+empty_moov $O"],
      ["fragments-base-moof.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+empty_moov+default_base_moof $O"],
      ["fragments-delayed.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+delay_moov $O"],
      ["fragments-sidx.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+empty_moov+dash+global_sidx $O"],
      ["fragments-dash.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+delay_moov+dash $O"],
      ["fragments-cmaf.mp4", "$FF -i silent.mp4 -c copy -movflags +cmaf+frag_keyframe $O"],
      ["fragments-hybrid.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe $O"],
      ["fragments-late.mp4", "$FF -i base.mp4 -c copy -output_ts_offset 3600 -movflags +frag_keyframe+empty_moov $O"],
      ["fragments-late-delayed.mp4", "$FF -i base.mp4 -c copy -output_ts_offset 100 -movflags +frag_keyframe+delay_moov $O"],
      ["fragments-every-frame.mp4", "$FF -i silent.mp4 -c copy -movflags +frag_every_frame+empty_moov $O"],
      ["hevc.mp4", `$FF ${PICTURE} -c:v libx265 -x265-params log-level=none:crf=40 -tag:v hvc1 $O`],
      ["av1.mp4", "$FF -f lavfi -i testsrc=s=96x64:r=25:d=1 -c:v libaom-av1 -cpu-used 8 -crf 50 $O"],
      [
        "vp9-opus.mp4",
        `$FF ${PICTURE} ${TONE} -c:v libvpx-vp9 -b:v 30k -cpu-used 8 -deadline realtime -c:a libopus -b:a 16k -strict -2 $O`,
      ],
      ["mpeg4.mp4", `$FF ${PICTURE} -c:v mpeg4 -q:v 20 $O`],
      ["vfr.mp4", `$FF ${PICTURE} -vf "select='not(mod(n,7))+lt(n,10)'" -vsync vfr ${H264} $O`],
      ["slow-last.mp4", `$FF ${PICTURE} -vf "select='lt(n,20)+eq(n,70)'" -vsync vfr ${H264} $O`],
      ["rotated.mp4", "$FF -i base.mp4 -c copy -metadata:s:v:0 rotate=90 $O"],
      ["upside-down.mp4", "$FF -i base.mp4 -c copy -metadata:s:v:0 rotate=180 $O"],
      ["wide-pixels.mp4", `$FF ${PICTURE} -vf setsar=4/3 ${H264} $O`],
      ["high-pixels.mp4", `$FF ${PICTURE} -vf setsar=3/4 ${H264} $O`],
      ["23976.mp4", `$FF -f lavfi -i testsrc=s=96x64:r=24000/1001:d=3 ${H264} $O`],
      ["5994.mp4", `$FF -f lavfi -i testsrc=s=96x64:r=60000/1001:d=2 ${H264} $O`],
      ["timescale-1000.mp4", "$FF -i base.mp4 -c copy -video_track_timescale 1000 $O"],
      ["one-frame.mp4", `$FF -f lavfi -i testsrc=s=96x64:r=25:d=0.04 ${H264} $O`],
      ["sound-longer.mp4", `$FF ${PICTURE} -f lavfi -i sine=d=5:r=44100 ${H264} ${AAC} $O`],
      ["sound-shorter.mp4", `$FF ${PICTURE} -f lavfi -i sine=d=1:r=44100 ${H264} ${AAC} $O`],
      ["sound-late.mp4", `$FF ${PICTURE} -itsoffset 1 -f lavfi -i sine=d=1:r=44100 ${H264} ${AAC} $O`],
      ["picture-late.mp4", `$FF -itsoffset 1 ${PICTURE} -f lavfi -i sine=d=3:r=44100 -map 0 -map 1 ${H264} ${AAC} $O`],
      ["two-sounds.mp4", `$FF ${PICTURE} ${TONE} -f lavfi -i sine=d=2:r=44100 -map 0 -map 1 -map 2 ${H264} ${AAC} $O`],
      ["two-pictures.mp4", `$FF ${PICTURE} -f lavfi -i testsrc2=s=64x64:r=10:d=2 -map 0 -map 1 ${H264} $O`],
      [
        "subtitles.mp4",
        "printf '1\\n00:00:00,000 --> 00:00:09,000\\nx\\n' > t.srt; $FF -i base.mp4 -i t.srt -map 0 -map 1 -c copy -c:s mov_text $O",
      ],
      ["base.mov", "$FF -i base.mp4 -c copy $O"],
      ["timecode.mov", "$FF -i base.mp4 -c copy -timecode 01:00:00:00 $O"],
      ["prores.mov", "$FF -f lavfi -i color=c=gray:s=64x48:r=25:d=1 -c:v prores_ks -profile:v 0 $O"],
      ["mjpeg-pcm.mov", "$FF -f lavfi -i color=c=gray:s=64x48:r=25:d=1 -f lavfi -i sine=d=1:r=8000 -c:v mjpeg -c:a pcm_s16le $O"],
      ["phone.3gp", "$FF -f lavfi -i testsrc=s=128x96:r=25:d=1 -c:v h263 -q:v 31 $O"],
      ["opus-in-clip.mp4", `$FF ${PICTURE} -f lavfi -i sine=d=3:r=48000 ${H264} -c:a libopus -b:a 16k -strict -2 $O`],
    ],
    { isKept: true },
  ),
  ...made([
    [
      "large.mp4",
      `$FF -f lavfi -i testsrc2=s=640x360:r=30:d=8 -f lavfi -i sine=d=8 -c:v libx264 -preset ultrafast -crf 22 -pix_fmt yuv420p -c:a aac $O`,
    ],
    ["fragments-trimmed.mp4", "$FF -ss 2.2 -i base.mp4 -c copy -movflags +frag_keyframe+empty_moov $O"],
    ["fragments-negative-cts.mp4", "$FF -i base.mp4 -c copy -movflags +frag_keyframe+empty_moov+negative_cts_offsets $O"],
    ["fragments-vfr.mp4", "$FF -i vfr.mp4 -c copy -movflags +frag_keyframe+empty_moov $O"],
    ["movie-timescale.mp4", "$FF -i base.mp4 -c copy -movie_timescale 90000 $O"],
    ["slow-motion.mp4", "$FF -itsscale 2 -i silent.mp4 -c copy $O"],
    ["trimmed.mov", "$FF -ss 1.3 -t 1.1 -i base.mp4 -c copy $O"],
    ["mp3-trimmed.mp4", "$FF -ss 1.2 -i vbr.mp3 -c copy $O"],
    ["wide-and-turned.mp4", `$FF ${PICTURE} -vf setsar=10/11 ${H264} -metadata:s:v:0 rotate=270 $O`],
    ["vp9-hidden-frames.mp4", `$FF ${PICTURE} -c:v libvpx-vp9 -auto-alt-ref 1 -lag-in-frames 16 -cpu-used 5 $O`],
    ["sound-longer-by-0.15.mp4", `$FF ${PICTURE} -f lavfi -i sine=d=3.15:r=44100 ${H264} ${AAC} $O`],
    ["large-fragments.mp4", "$FF -i large.mp4 -c copy -movflags +frag_keyframe+empty_moov -frag_duration 500000 $O"],
    [
      "huge-index.mp4",
      "$FF -f lavfi -i testsrc=s=32x32:r=240:d=60 -f lavfi -i sine=d=60:r=48000 -c:v libx264 -preset ultrafast -crf 51 -pix_fmt yuv420p -c:a aac $O",
    ],
    ["huge-index-front.mp4", "$FF -i huge-index.mp4 -c copy -movflags +faststart $O"],
  ]),
  ...edited([
    [
      "free-boxes.mp4",
      "base.mp4",
      (b) =>
        insert(b, b.readUInt32BE(0), Buffer.concat([box("free", Buffer.alloc(30)), box("uuid", Buffer.alloc(40)), box("skip")])),
    ],
    ["mvhd-lies.mp4", "base.mp4", (b) => put(b, b.indexOf("mvhd") + 20, be32(99_999_999))],
    ["mdhd-lies.mp4", "silent.mp4", (b) => put(b, b.indexOf("mdhd") + 20, be32(1))],
    ["tkhd-lies.mp4", "base.mp4", (b) => put(b, b.indexOf("tkhd") + 24, be32(1))],
  ]),
  ...edited([
    ["free-in-index.mp4", "base.mp4", (b) => freeInIndex(b, 400 * 1024)],
    ["open-mdat.mp4", "faststart.mp4", (b) => put(b, b.lastIndexOf("mdat") - 4, be32(0))],
  ]),
  ...edited(
    [
      ["cut-front-index.mp4", "faststart.mp4", share(0.6)],
      ["cut-end-index.mp4", "base.mp4", share(0.8)],
      ["cut-fragments.mp4", "fragments.mp4", share(0.7)],
    ],
    { isCut: true },
  ),
];

/** Inserts a `free` box into the index at the end of the file. */
const freeInIndex = (bytes: Buffer, length: number) => {
  const at = bytes.lastIndexOf("moov") - 4;
  const grown = Buffer.concat([bytes, box("free", Buffer.alloc(length))]);
  return put(grown, at, be32(grown.length - at));
};

const VP8 = "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 40k";
const VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 40k";
const OPUS = "-c:a libopus -b:a 16k";

const MATROSKA: Recipe[] = [
  ...made(
    [
      ["vp8.webm", `$FF ${PICTURE} ${TONE} ${VP8} ${OPUS} $O`],
      ["vp9.webm", `$FF ${PICTURE} ${VP9} $O`],
      ["vp9-opus.webm", `$FF ${PICTURE} ${TONE} ${VP9} ${OPUS} $O`],
      ["vorbis.webm", `$FF ${PICTURE} ${TONE} ${VP8} -c:a libvorbis -q:a 0 $O`],
      ["av1.webm", "$FF -i av1.mp4 -c copy $O"],
      ["live.webm", "$FF -i vp8.webm -c copy -f webm -live 1 - > $O"],
      ["piped.webm", "$FF -i vp8.webm -c copy -f webm - > $O"],
      ["live-late.webm", "$FF -i vp8.webm -c copy -output_ts_offset 20 -f webm -live 1 - > $O"],
      ["late20.webm", "$FF -i vp8.webm -c copy -output_ts_offset 20 $O"],
      ["sound-only.webm", `$FF ${TONE} ${OPUS} $O`],
      ["sound-only-live.webm", `$FF ${TONE} ${OPUS} -f webm -live 1 - > $O`],
      ["vorbis-only.webm", `$FF ${TONE} -c:a libvorbis -q:a 0 $O`],
      ["h264.mkv", "$FF -i base.mp4 -c copy $O"],
      ["h264-late.mkv", "$FF -i base.mp4 -c copy -output_ts_offset 50 $O"],
      ["hevc.mkv", "$FF -i hevc.mp4 -c copy $O"],
      ["clusters.mkv", "$FF -i base.mp4 -c copy -cluster_time_limit 200 $O"],
      ["no-cues.mkv", "$FF -i base.mp4 -c copy -f matroska - > $O"],
      ["merged.mkv", "mkvmerge -q -o $O base.mp4"],
      ["merged-laced.mkv", "mkvmerge -q -o $O cbr128.mp3"],
      ["merged-pcm.mka", "mkvmerge -q -o $O pcm16.wav"],
      ["merged-two.mkv", "mkvmerge -q -o $O base.mp4 lc.m4a"],
      ["merged.webm", "mkvmerge -q -w -o $O vp8.webm"],
      ["aac.mka", "$FF -i lc.m4a -c copy $O"],
      ["mp3.mka", "$FF -i cbr128.mp3 -c copy $O"],
      ["flac.mka", "$FF -i plain.flac -c copy $O"],
      ["pcm.mka", "$FF -i pcm16.wav -c copy $O"],
      ["opus-trimmed.mka", "$FF -i opus20.opus -c copy -t 3.3 $O"],
      ["wide-pixels.mkv", "$FF -i wide-pixels.mp4 -c copy $O"],
      ["sound-longer.webm", `$FF ${PICTURE} -f lavfi -i sine=d=5:r=48000 ${VP8} ${OPUS} $O`],
      ["vfr.mkv", "$FF -i vfr.mp4 -c copy $O"],
    ],
    { isKept: true },
  ),
  ...made([
    [
      "large.webm",
      `$FF -f lavfi -i "testsrc2=s=1280x720:r=30:d=6" -f lavfi -i sine=d=6 -c:v libvpx -deadline realtime -cpu-used 8 -b:v 2.5M -c:a libopus $O`,
    ],
    ["vp8-hidden-frames.webm", `$FF ${PICTURE} -c:v libvpx -auto-alt-ref 1 -lag-in-frames 16 -cpu-used 5 $O`],
    ["vp9-hidden-frames.webm", `$FF ${PICTURE} -c:v libvpx-vp9 -auto-alt-ref 1 -lag-in-frames 16 -cpu-used 5 $O`],
    ["trimmed.webm", "$FF -ss 1.3 -i vp9-opus.webm -c copy $O"],
    ["trimmed.mkv", "$FF -ss 1.3 -i base.mp4 -c copy $O"],
    ["mp3-trimmed.mka", "$FF -ss 1.2 -i cbr128.mp3 -c copy $O"],
    ["alac.mka", "$FF -i alac.m4a -c copy $O"],
    ["large-live.webm", "$FF -i large.webm -c copy -f webm -live 1 - > $O"],
    ["large.mkv", "$FF -i large.webm -c copy $O"],
    ["opus-minute.webm", "$FF -i opus-minute.opus -c copy $O"],
    ["opus-minute-live.webm", "$FF -i opus-minute.opus -c copy -f webm -live 1 - > $O"],
    ["attachment.mkv", "$FF -i base.mp4 -c copy -attach id3-300k.mp3 -metadata:s:2 mimetype=application/octet-stream $O"],
  ]),
  ...edited([["duration-lies.webm", "vp8.webm", (b) => durationOf(b, 500)]]),
  ...edited(
    [
      ["cut.webm", "vp8.webm", share(0.7)],
      ["cut.mkv", "h264.mkv", share(0.5)],
    ],
    { isCut: true },
  ),
];

/** Writes another duration (ms) into the header of a Matroska file. */
const durationOf = (bytes: Buffer, ms: number) => {
  const value = Buffer.alloc(8);
  value.writeDoubleBE(ms);
  return put(bytes, bytes.indexOf(Buffer.of(0x44, 0x89, 0x88)) + 3, value);
};

export const CLIPS: Recipe[] = [...MP4, ...MATROSKA];
