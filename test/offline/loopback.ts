// Brings up the loopback of a network namespace and runs a command: `unshare -rn bun loopback.ts COMMAND…`.
import { dlopen, FFIType, ptr } from "bun:ffi";

// Not every machine has `ip`, and one call replaces it: SIOCSIFFLAGS with IFF_UP on `lo`.
const { symbols } = dlopen("libc.so.6", {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
});
const [AF_INET, SOCK_DGRAM, SIOCSIFFLAGS, IFF_UP] = [2, 2, 0x8914, 1];

/** struct ifreq: the name in 16 bytes, then the flags. */
const request = Buffer.alloc(40);
request.write("lo");
request.writeInt16LE(IFF_UP, 16);
if (symbols.ioctl(symbols.socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, ptr(request)) !== 0) {
  process.stderr.write("the loopback cannot be brought up\n");
  process.exit(1);
}
const child = Bun.spawn(process.argv.slice(2), { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
process.on("SIGTERM", () => child.kill("SIGTERM"));
process.exit(await child.exited);
