// Types of SQL files that are imported as text.
declare module "*.sql" {
  const text: string;

  export { text as default };
}
