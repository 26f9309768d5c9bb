// Types of the page assets: styles and scripts are imported as text, Scalar as a path.
declare module "*.css" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*/before.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*/reference.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*/guides.js" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*.md" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
declare module "*.js.gz" {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as a path has no other name.
  export default path;
}

declare module "*.svg" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
