// The chart as files. The pages load this module when a reader saves the chart.
export { mermaidOf } from "../../actors/chart/mermaid.ts";
export { svgOf } from "../../actors/chart/svg.ts";
