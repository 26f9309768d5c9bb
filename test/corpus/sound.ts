// Audio of the corpus: MP3, WAV and similar, Ogg, FLAC, AAC, and audio in MP4, with the oddities of real writers.
import { edited, id3, insert, le32, made, noise, put, type Recipe, share } from "./recipe.ts";

const SINE = "-f lavfi -i sine=d=4:r=44100";
const LOUD_FIRST = `-f lavfi -i "aevalsrc='if(lt(t,5),random(0)*0.9,0)':d=60:s=44100"`;
const SILENT_FIRST = `-f lavfi -i "aevalsrc='if(gt(t,5),random(0)*0.9,0)':d=20:s=44100"`;

/** Concatenates copies, which multiplies an error of less than one frame. */
const joined = (times: number) => (bytes: Buffer) => Buffer.concat(Array.from({ length: times }, () => bytes));
const [thrice, twelve] = [joined(3), joined(12)];

const MP3: Recipe[] = [
  ...made(
    [
      ["cbr128.mp3", `$FF ${SINE} -c:a libmp3lame -b:a 64k $O`],
      ["mono24k.mp3", "$FF -f lavfi -i sine=d=5:r=24000 -c:a libmp3lame -b:a 32k $O"],
      ["mono11k.mp3", "$FF -f lavfi -i sine=d=5:r=11025 -c:a libmp3lame -b:a 16k $O"],
      ["stereo48k.mp3", "$FF -f lavfi -i sine=d=4:r=48000 -ac 2 -c:a libmp3lame -b:a 48k $O"],
      ["vbr.mp3", `$FF ${SINE} -c:a libmp3lame -q:a 6 $O`],
      ["noxing.mp3", `$FF ${SINE} -c:a libmp3lame -b:a 48k -write_xing 0 -id3v2_version 0 $O`],
      ["shine.mp3", `$FF ${SINE} -c:a libshine -b:a 64k $O`],
      ["shine-noxing.mp3", `$FF ${SINE} -c:a libshine -b:a 64k -write_xing 0 $O`],
      ["lame.mp3", `$FF ${SINE} t.wav && lame --silent -b 48 t.wav $O`],
      ["lame-vbr-id3.mp3", `$FF ${SINE} t.wav && lame --silent -V 7 --tt Title --add-id3v2 t.wav $O`],
      ["lame-abr.mp3", `$FF ${SINE} t.wav && lame --silent --abr 40 t.wav $O`],
      ["lame-crc.mp3", `$FF ${SINE} t.wav && lame --silent -b 48 -p t.wav $O`],
      ["lame-notag.mp3", `$FF ${SINE} t.wav && lame --silent -t -b 48 t.wav $O`],
      ["twolame.mp2", `$FF ${SINE} -ac 2 t.wav && twolame --quiet -b 64 t.wav $O`],
      [
        "apic.mp3",
        `$FF ${SINE} -f lavfi -i color=c=red:s=64x64:d=0.04 -map 0 -map 1 -frames:v 1 -c:v png -c:a libmp3lame -b:a 48k -disposition:v attached_pic $O`,
      ],
    ],
    { isKept: true },
  ),
  ...made([
    ["layer2.mp2", `$FF ${SINE} -c:a mp2 -b:a 64k $O`],
    ["mono8k.mp3", "$FF -f lavfi -i sine=d=3:r=8000 -c:a libmp3lame -b:a 8k $O"],
    ["vbr32k.mp3", "$FF -f lavfi -i sine=d=3:r=32000 -c:a libmp3lame -q:a 9 $O"],
    ["trimmed-front.mp3", "$FF -ss 1.2 -i cbr128.mp3 -c copy $O"],
    ["cbr320.mp3", `$FF -f lavfi -i sine=d=30:r=44100 -c:a libmp3lame -b:a 320k $O`],
    ["vbr-loud-first.mp3", `$FF ${LOUD_FIRST} -c:a libmp3lame -q:a 2 -write_xing 0 $O`],
    ["vbr-silent-first.mp3", `$FF ${SILENT_FIRST} -c:a libmp3lame -q:a 2 -write_xing 0 $O`],
    ["joined-rates.mp3", "cat cbr128.mp3 mono24k.mp3 noxing.mp3 > $O"],
    ["joined-bitrates.mp3", "cat noxing.mp3 lame-notag.mp3 shine-noxing.mp3 > $O"],
  ]),
  ...edited([
    ["twelve-joined.mp3", "cbr128.mp3", twelve],
    ["lame-twelve-joined.mp3", "lame.mp3", twelve],
    ["id3v1-tail.mp3", "noxing.mp3", (b) => Buffer.concat([b, Buffer.from("TAG".padEnd(128, " "))])],
    [
      "apev2-tail.mp3",
      "noxing.mp3",
      (b) => Buffer.concat([b, Buffer.from("APETAGEX"), noise(400, 3), Buffer.from("APETAGEX"), noise(24, 4)]),
    ],
    ["zeros-between.mp3", "noxing.mp3", (b) => insert(b, 139 * 50 + b.indexOf(0xff), Buffer.alloc(500))],
    ["garbage-front.mp3", "noxing.mp3", (b) => Buffer.concat([noise(3000, 1), b])],
    ["garbage-between.mp3", "noxing.mp3", (b) => Buffer.concat([b, noise(5000, 2), b])],
    ["xing-says-less.mp3", "cbr128.mp3", (b) => put(b, b.indexOf("Info") + 8, Buffer.of(0, 0, 0, 20))],
  ]),
  ...edited([
    ["id3-300k.mp3", "noxing.mp3", (b) => Buffer.concat([id3(300_000), b])],
    ["id3-3m.mp3", "cbr128.mp3", (b) => Buffer.concat([id3(3_000_000), b])],
    ["two-id3.mp3", "noxing.mp3", (b) => Buffer.concat([id3(1000), id3(70_000), b])],
  ]),
  ...edited(
    [
      ["cut-frame.mp3", "noxing.mp3", (b) => b.subarray(0, b.length - 60)],
      ["cut-half.mp3", "cbr128.mp3", share(0.5)],
      ["cut-xing-vbr.mp3", "lame-vbr-id3.mp3", share(0.7)],
    ],
    { isCut: true },
  ),
];

const sizesOf = (bytes: Buffer, riff: number, data: number) =>
  put(put(bytes, 4, le32(riff)), bytes.indexOf("data", 12, "latin1") + 4, le32(data));
const WAV_IN = "$FF -f lavfi -i sine=d=1.3:r=8000";
const listed = (bytes: Buffer, content: Buffer, isPadded = true) =>
  insert(
    bytes,
    36,
    Buffer.concat([Buffer.from("LIST"), le32(content.length), content, Buffer.alloc(isPadded ? content.length & 1 : 0)]),
  );

const WAV: Recipe[] = [
  ...made(
    [
      ["pcm16.wav", `${WAV_IN} -bitexact $O`],
      ["pcm8.wav", `${WAV_IN} -c:a pcm_u8 $O`],
      ["pcm24.wav", `${WAV_IN} -c:a pcm_s24le $O`],
      ["float.wav", `${WAV_IN} -c:a pcm_f32le -t 0.7 $O`],
      ["double.wav", `${WAV_IN} -c:a pcm_f64le -t 0.7 $O`],
      ["ulaw.wav", `${WAV_IN} -c:a pcm_mulaw $O`],
      ["alaw.wav", `${WAV_IN} -c:a pcm_alaw $O`],
      ["adpcm-ms.wav", `${WAV_IN} -c:a adpcm_ms $O`],
      ["adpcm-ima.wav", `${WAV_IN} -c:a adpcm_ima_wav $O`],
      ["adpcm-ms-stereo.wav", `${WAV_IN} -ac 2 -c:a adpcm_ms $O`],
      ["extensible.wav", `$FF -f lavfi -i "anullsrc=cl=5.1:r=8000:d=0.3" -c:a pcm_s24le $O`],
      ["mp3-in.wav", "$FF -f lavfi -i sine=d=5:r=24000 -c:a libmp3lame -b:a 32k $O"],
      ["rf64.wav", `${WAV_IN} -rf64 always $O`],
      ["wave64.w64", `${WAV_IN} $O`],
      ["piped.wav", `${WAV_IN} -f wav - > $O`],
      ["sox-piped.wav", "sox -n -r 8000 -b 16 -t wav - synth 1.3 sine 440 > $O"],
      ["sox.aiff", "sox -n -r 8000 -b 16 $O synth 1.3 sine 440"],
      ["ffmpeg.aiff", `${WAV_IN} $O`],
      ["sowt.aifc", `${WAV_IN} -c:a pcm_s16le -f aiff $O`],
    ],
    { isKept: true },
  ),
  ...edited([
    ["data0.wav", "pcm16.wav", (b) => sizesOf(b, 36, 0)],
    ["riff0-data0.wav", "pcm16.wav", (b) => sizesOf(b, 0, 0)],
    ["sox-7ffff000.wav", "pcm16.wav", (b) => sizesOf(b, 0x7ffff024, 0x7ffff000)],
    ["kyutai-2e9.wav", "pcm16.wav", (b) => sizesOf(b, 2_000_000_036, 2_000_000_000)],
    ["ffffffff.wav", "pcm16.wav", (b) => sizesOf(b, 0xffffffff, 0xffffffff)],
    ["7fffffff.wav", "pcm16.wav", (b) => sizesOf(b, 0x7fffffff, 0x7fffffff - 36)],
    ["80000000.wav", "pcm16.wav", (b) => sizesOf(b, 0x80000024, 0x80000000)],
    ["list-odd.wav", "pcm16.wav", (b) => listed(b, Buffer.from("INFOIART\x03\0\0\0abc", "latin1"))],
    ["trailing-list.wav", "pcm16.wav", (b) => Buffer.concat([b, Buffer.from("LIST"), le32(4), Buffer.from("INFO")])],
    ["shorter-than-file.wav", "pcm16.wav", (b) => sizesOf(b, 8_036, 8_000)],
  ]),
  ...edited([["data-late.wav", "pcm16.wav", (b) => listed(b, noise(400_001, 9))]]),
  ...edited([["cut.wav", "pcm16.wav", share(0.6)]], { isCut: true }),
];

const OGG: Recipe[] = [
  ...made(
    [
      ["opus20.opus", "$FF -f lavfi -i sine=d=5:r=48000 -c:a libopus -b:a 16k $O"],
      ["opus60.opus", "$FF -f lavfi -i sine=d=5:r=48000 -c:a libopus -b:a 12k -frame_duration 60 $O"],
      ["opus2.5.opus", "$FF -f lavfi -i sine=d=2:r=48000 -c:a libopus -b:a 32k -frame_duration 2.5 $O"],
      ["opusenc.opus", "$FF -f lavfi -i sine=d=5:r=44100 t.wav && opusenc --quiet --bitrate 16 t.wav $O"],
      ["vorbis.ogg", `$FF ${SINE} -c:a libvorbis -q:a 0 $O`],
      ["oggenc.ogg", `$FF ${SINE} t.wav && oggenc --quiet -q -1 -o $O t.wav`],
      ["flac.oga", "$FF -f lavfi -i sine=d=3:r=8000 -c:a flac -f ogg $O"],
      ["speex.spx", "$FF -f lavfi -i sine=d=3:r=16000 -c:a libspeex -f ogg $O"],
      ["opus-late.ogg", "$FF -i opus20.opus -c copy -output_ts_offset 30 -f ogg $O"],
      ["vorbis-trimmed-front.ogg", "$FF -ss 1.234 -i vorbis.ogg -c copy $O"],
      ["opus-trimmed-both.opus", "$FF -ss 1.234 -t 2 -i opus20.opus -c copy $O"],
      ["vorbis-late.ogg", "$FF -ss 2.3 -i vorbis.ogg -c copy -copyts -f ogg $O"],
    ],
    { isKept: true },
  ),
  ...made([
    ["opus-small-pages.opus", "$FF -f lavfi -i sine=d=3:r=48000 -c:a libopus -page_duration 20000 $O"],
    ["opus-chained.opus", "cat opus20.opus opusenc.opus > $O"],
    ["opus-same-chained.opus", "cat opus20.opus opus20.opus opus20.opus > $O"],
    ["opus-minute.opus", "$FF -f lavfi -i sine=d=60:r=48000 -c:a libopus -b:a 64k $O"],
    ["vorbis-minute.ogg", "$FF -f lavfi -i sine=d=60:r=44100 -c:a libvorbis -q:a 4 $O"],
  ]),
  ...made([["vorbis-chained.ogg", "cat vorbis.ogg oggenc.ogg > $O"]], { chained: 2 }),
  // ffmpeg omits only the pre-skip of the first chained stream, so its sample count for twelve would be too high.
  ...edited([
    ["opus60-thrice.opus", "opus60.opus", thrice],
    ["opusenc-thrice.opus", "opusenc.opus", thrice],
    ["vorbis-thrice.ogg", "vorbis.ogg", thrice],
  ]),
  ...edited([["opus-cut.opus", "opus20.opus", share(0.7)]], { isCut: true }),
];

const FLAC_IN = "$FF -f lavfi -i sine=d=3:r=8000";
const FLAC: Recipe[] = [
  ...made(
    [
      ["plain.flac", `${FLAC_IN} $O`],
      ["streamed.flac", `${FLAC_IN} -f flac - > $O`],
      ["flac-tool.flac", `${FLAC_IN} t.wav && flac --silent -f -o $O t.wav`],
      ["flac-tool-piped.flac", `${FLAC_IN} t.wav && flac --silent -c - < t.wav > $O`],
      ["flac-24.flac", "$FF -f lavfi -i sine=d=1:r=48000 -sample_fmt s32 -c:a flac $O"],
    ],
    { isKept: true },
  ),
  ...edited([
    ["flac-total-less.flac", "plain.flac", (b) => put(b, 22, Buffer.of(0, 0, 0x10, 0))],
    ["flac-id3.flac", "plain.flac", (b) => Buffer.concat([id3(500), b])],
  ]),
  ...made([
    ["flac-96k.flac", "$FF -f lavfi -i sine=d=3:r=96000 -frame_size 1000 -c:a flac $O"],
    ["flac-minute.flac", "$FF -f lavfi -i \"aevalsrc='random(0)*0.5':d=20:s=44100\" -f flac - > $O"],
    ["flac-joined.flac", "cat plain.flac plain.flac > $O"],
    [
      "flac-picture.flac",
      "$FF -i plain.flac -f lavfi -i testsrc2=s=1280x960:d=0.04 -map 0 -map 1 -frames:v 1 -c:a copy -c:v png -disposition:v attached_pic $O",
    ],
  ]),
  ...edited(
    [
      ["flac-cut.flac", "plain.flac", share(0.6)],
      ["flac-streamed-cut.flac", "streamed.flac", share(0.63)],
    ],
    { isCut: true },
  ),
];

const AAC: Recipe[] = [
  ...made(
    [
      ["lc.aac", `$FF ${SINE} -c:a aac -b:a 48k $O`],
      ["mono16k.aac", "$FF -f lavfi -i sine=d=3:r=16000 -c:a aac -b:a 24k $O"],
      ["lc.m4a", `$FF ${SINE} -c:a aac -b:a 48k $O`],
      ["faststart.m4a", `$FF ${SINE} -c:a aac -b:a 48k -movflags +faststart $O`],
      ["fragmented.m4a", `$FF ${SINE} -c:a aac -b:a 48k -movflags +frag_keyframe+empty_moov -frag_duration 500000 $O`],
      [
        "fragmented-delay.m4a",
        `$FF ${SINE} -c:a aac -b:a 48k -movflags +frag_keyframe+delay_moov+default_base_moof -frag_duration 500000 $O`,
      ],
      ["alac.m4a", "$FF -f lavfi -i sine=d=3:r=8000 -c:a alac $O"],
      ["mp3-in.mp4", `$FF ${SINE} -c:a libmp3lame -b:a 48k $O`],
      ["opus-in.mp4", "$FF -f lavfi -i sine=d=5:r=48000 -c:a libopus -b:a 16k -strict -2 $O"],
      ["flac-in.mp4", "$FF -f lavfi -i sine=d=3:r=8000 -c:a flac -strict -2 $O"],
      ["ac3-in.mp4", "$FF -f lavfi -i sine=d=3:r=48000 -c:a ac3 -b:a 64k $O"],
      ["pcm-in.mov", "$FF -f lavfi -i sine=d=1.3:r=8000 -c:a pcm_s16le $O"],
      ["trimmed.m4a", "$FF -ss 1.3 -i lc.m4a -c copy $O"],
      ["hour-of-empty-edit.m4a", "$FF -i lc.m4a -c copy -output_ts_offset 3600 $O"],
      [
        "apic.m4a",
        `$FF ${SINE} -f lavfi -i color=c=red:s=64x64:d=0.04 -map 0 -map 1 -frames:v 1 -c:v png -c:a aac -b:a 48k -disposition:v attached_pic $O`,
      ],
    ],
    { isKept: true },
  ),
  ...edited([
    ["aac-id3.aac", "lc.aac", (b) => Buffer.concat([id3(300), b])],
    ["aac-joined.aac", "mono16k.aac", (b) => Buffer.concat([b, b])],
  ]),
  ...made([["aac-minute.aac", "$FF -f lavfi -i sine=d=60:r=44100 -c:a aac -b:a 128k $O"]]),
  ...edited(
    [
      ["cut.aac", "lc.aac", (b) => b.subarray(0, b.length - 40)],
      ["cut.m4a", "faststart.m4a", share(0.7)],
    ],
    { isCut: true },
  ),
];

export const SOUND: Recipe[] = [...MP3, ...WAV, ...OGG, ...FLAC, ...AAC];
