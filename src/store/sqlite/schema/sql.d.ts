// Types of SQL files that are imported as text.
declare module "*.sql" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: a file imported as text has no other name.
  export default text;
}
