// Images of the corpus: every format that providers return, with the oddities of real writers.
import { edited, insert, le32, made, noise, type Recipe, share } from "./recipe.ts";

const PICTURE = "-f lavfi -i testsrc=s=97x61:d=0.04";
const FILM = "-f lavfi -i testsrc=s=97x61:r=5:d=1";
/** Pillow writes formats that ffmpeg does not write. */
const pillow = (code: string) => `python3 -c "from PIL import Image; im=Image.effect_noise((97,61),80).convert('RGB'); ${code}"`;

const segment = (marker: number, content: Buffer) =>
  Buffer.concat([Buffer.of(0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 255), content]);
const apps = (count: number) => Buffer.concat(Array.from({ length: count }, (_, n) => segment(0xeb, noise(60_000, n))));

const SVG = (attributes: string, before = "") =>
  `printf '%s' '${before}<svg xmlns="http://www.w3.org/2000/svg" ${attributes}><rect width="5" height="5"/></svg>' > $O`;

export const PICTURES: Recipe[] = [
  ...made(
    [
      ["rgb.png", `$FF ${PICTURE} -frames:v 1 $O`],
      ["gray16.png", `$FF ${PICTURE} -frames:v 1 -pix_fmt gray16be $O`],
      ["palette.png", pillow("im.quantize(16).save('$O')")],
      ["alpha.png", `$FF ${PICTURE} -frames:v 1 -pix_fmt rgba $O`],
      ["animated.png", `$FF ${FILM} -f apng $O`],
      ["strip-100000.png", pillow("Image.new('1',(100000,3)).save('$O')")],
      ["baseline.jpg", `$FF ${PICTURE} -frames:v 1 -q:v 20 $O`],
      ["progressive.jpg", pillow("im.save('$O',progressive=True,quality=30)")],
      ["gray.jpg", pillow("im.convert('L').save('$O',quality=30)")],
      ["cmyk.jpg", pillow("im.convert('CMYK').save('$O',quality=30)")],
      ["restarts.jpg", pillow("im.save('$O',quality=30,restart_marker_blocks=2)")],
      ["lossy.webp", `$FF ${PICTURE} -frames:v 1 -c:v libwebp $O`],
      ["lossless.webp", `$FF ${PICTURE} -frames:v 1 -c:v libwebp -lossless 1 $O`],
      ["still.gif", `$FF ${PICTURE} -frames:v 1 $O`],
      ["animated.gif", `$FF ${FILM} $O`],
      ["rgb.bmp", `$FF ${PICTURE} -frames:v 1 $O`],
      ["palette.bmp", pillow("im.quantize(16).save('$O')")],
      ["one-bit.bmp", pillow("im.convert('1').save('$O')")],
      ["rgb.tif", `$FF ${PICTURE} -frames:v 1 -compression_algo lzw $O`],
      ["jpeg-in.tif", pillow("im.save('$O',compression='jpeg')")],
    ],
    { isKept: true },
  ),
  ...made([["tall-30000.jpg", "$FF -f lavfi -i color=s=16x30000:d=0.04 -frames:v 1 -q:v 31 $O"]]),
  ...made(
    [
      ["alpha.webp", pillow("im.putalpha(80); im.save('$O')")],
      ["animated.webp", pillow("im.save('$O',save_all=True,append_images=[im.rotate(90),im.rotate(180)])")],
      ["exif-1.webp", pillow("e=Image.Exif(); e[0x10e]='x'; im.save('$O',exif=e)")],
      ["still.avif", pillow("im.save('$O',quality=30)")],
      ["alpha.avif", pillow("im.putalpha(80); im.save('$O',quality=30)")],
      ["animated.avif", pillow("im.save('$O',quality=30,save_all=True,append_images=[im.rotate(90)])")],
      ["still.heic", pillow("import pillow_heif; pillow_heif.register_heif_opener(); im.save('$O',quality=20)")],
      ["plain.svg", SVG('width="97" height="61"')],
      ["units.svg", SVG('width="97px" height="61.2px" viewBox="0 0 10 10"')],
      ["box.svg", SVG('viewBox="0 0 97 61"')],
      ["declared.svg", SVG('width="97" height="61"', '<?xml version="1.0"?>\n<!-- made -->\n<!DOCTYPE svg>\n')],
    ],
    { isKept: true, size: { width: 97, height: 61 } },
  ),
  ...made([["huge16384.png", pillow("Image.new('1',(16384,16384)).save('$O')")]], {
    isKept: true,
    size: { width: 16_384, height: 16_384 },
  }),
  ...made([["percent.svg", SVG('width="100%" height="100%" viewBox="0,0,97,61"')]], {
    isKept: true,
    size: { width: 97, height: 61 },
  }),
  ...made(
    [
      ["orientation-6.jpg", pillow("e=Image.Exif(); e[0x112]=6; im.save('$O',quality=30,exif=e)")],
      ["orientation-8-late.jpg", pillow("e=Image.Exif(); e[0x10e]='x'*900; e[0x112]=8; im.save('$O',quality=30,exif=e)")],
    ],
    { isKept: true, size: { width: 61, height: 97 } },
  ),
  ...edited([
    ["top-down.bmp", "rgb.bmp", (b) => Buffer.concat([b.subarray(0, 22), le32(-61), b.subarray(26)])],
    ["fill-bytes.jpg", "baseline.jpg", (b) => insert(b, 2, Buffer.alloc(40, 0xff))],
    ["padded.jpg", "baseline.jpg", (b) => Buffer.concat([b, Buffer.alloc(5000)])],
    ["padded.png", "rgb.png", (b) => Buffer.concat([b, noise(5000, 2)])],
    ["no-trailer.gif", "still.gif", (b) => b.subarray(0, b.length - 1)],
  ]),
  ...edited([
    ["metadata-300k.jpg", "baseline.jpg", (b) => insert(b, 2, apps(5))],
    ["metadata-3m.jpg", "progressive.jpg", (b) => insert(b, 2, apps(50))],
  ]),
  ...edited(
    [
      ["cut.png", "rgb.png", share(0.9)],
      ["cut.jpg", "baseline.jpg", share(0.9)],
      ["cut-progressive.jpg", "progressive.jpg", share(0.6)],
      ["cut.webp", "lossy.webp", share(0.8)],
      ["cut.gif", "animated.gif", share(0.8)],
      ["cut.bmp", "rgb.bmp", share(0.8)],
      ["cut.tif", "rgb.tif", share(0.8)],
      ["cut.avif", "still.avif", share(0.8)],
      ["cut.heic", "still.heic", share(0.8)],
      ["cut.svg", "plain.svg", share(0.8)],
    ],
    { isCut: true },
  ),
];
