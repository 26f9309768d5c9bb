// Requests of the webhooks page that need no dialog.
import type { DeliveryDto, EndpointDto } from "../../../src/console/webhooks-dto.ts";
import { call } from "../../components/api.ts";
import { queryOf } from "../credits/amounts.ts";

export const WEBHOOKS = "/console/api/webhooks";

export const sendTest = ({ id }: EndpointDto, account: string | null): Promise<DeliveryDto> =>
  call<DeliveryDto>("POST", `${WEBHOOKS}/${id}/test${queryOf({ account })}`);

export const setEnabled = ({ id }: EndpointDto, enabled: boolean, account: string | null): Promise<EndpointDto> =>
  call<EndpointDto>("PATCH", `${WEBHOOKS}/${id}${queryOf({ account })}`, { enabled });
