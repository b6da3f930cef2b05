/** The build makes a string of a style sheet. */
declare module "*.css" {
  const text: string;
  export default text;
}
