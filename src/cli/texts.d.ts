// Types of files that are imported as text.
declare module "*.txt" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*.service" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*.toml" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
