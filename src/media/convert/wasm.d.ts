// Declares WebAssembly imports as file paths, on disk or inside the compiled binary.
declare module "*.wasm" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: a file has no other name.
  export default path;
}
