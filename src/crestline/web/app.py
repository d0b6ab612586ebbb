"""The HTTP face: routes, and what each needs. Handlers are plain functions that run in threads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import Route

from crestline import __version__
from crestline.deadline import end_within
from crestline.errors import CrestlineError, LedgerError
from crestline.exact_numbers import MOST_NAMED
from crestline.ledger.receipt import utc_now
from crestline.ledger.report import account_decimals
from crestline.price.encoding import encode_price
from crestline.price.price import Price
from crestline.question import Question, QuestionFields
from crestline.question_fields import ALL
from crestline.randomness.entropy import system
from crestline.sql_questions.statement import Kind
from crestline.web.access.callers import caller_by_token, sent_from_this_machine
from crestline.web.answer_once import QueuedQuestion, answer_from_queue, run_unpaid
from crestline.web.api.schemas import (
    AnswerBody,
    Budgets,
    Datasets,
    Error,
    Health,
    PriceBody,
    SqlBody,
    SqlRequest,
    TopRequest,
)
from crestline.web.api.sql import question_of, read_request, result_json
from crestline.web.ledger_gauges import ledger_gauges
from crestline.web.metrics import CONTENT_TYPE
from crestline.web.middleware import Middleware, error_body
from crestline.web.pages.api_page import api_page
from crestline.web.pages.forms import error_page
from crestline.web.pages.routes import pages
from crestline.web.permissions import Caller, price_question, stored_answer_json
from crestline.web.problems import Problem, forbidden_problem, problem_of
from crestline.web.requests.access_log import AccessLog
from crestline.web.service_state import ServedDataset, ServiceState

if TYPE_CHECKING:
    from crestline.web.mcp.server import AgentEndpoint

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": words}
    for status, words in {
        400: "The body cannot be read.",
        402: "The budget does not cover this question.",
        403: "Not there, or not for this token.",
        409: "The idempotency key belongs to another question, or to one that has not ended.",
        413: "The request is too large.",
        422: "The question cannot be asked like this.",
        429: "Too many requests; Retry-After says when to come back.",
        503: "The data or the ledger did not answer.",
    }.items()
}
_SCRAPE_SECONDS = 5.0  # for what the ledger says
_bearer = HTTPBearer(auto_error=False, description="A token made by `crestline token create`.")
api = APIRouter(prefix="/v1", responses=_ERRORS)
open_to_all = APIRouter()


def create_app(state: ServiceState) -> FastAPI:
    """The service over its state, which it closes when it ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as open_parts:
            for endpoint in agents:
                await open_parts.enter_async_context(endpoint.running())
            yield
        app.state.service.close()

    app = FastAPI(
        title="crestline",
        version=__version__,
        summary="Private top-k over a data set that stays where it is.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load scripts from a foreign host
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the host that a request names
    )
    app.state.service = state
    agents = _agent_endpoints(app, state.config.mcp_hosts)
    app.router.routes.extend(Route("/mcp", endpoint, include_in_schema=False) for endpoint in agents)
    app.include_router(api)
    app.include_router(open_to_all)
    app.include_router(pages)
    app.add_middleware(
        Middleware,
        metrics=state.metrics,
        journal=AccessLog(utc_now),
        deadline=lambda: app.state.service.config.limits.seconds,
    )
    app.add_exception_handler(Problem, _handle_problem)
    app.add_exception_handler(CrestlineError, _handle_refusal)
    app.add_exception_handler(RequestValidationError, _handle_invalid_request)
    app.add_exception_handler(HTTPException, _handle_http_error)
    return app


def _agent_endpoints(app: FastAPI, hosts: tuple[str, ...]) -> list[AgentEndpoint]:
    """The endpoint of tools for agents, where the extra `mcp` is installed."""
    if find_spec("mcp") is None or find_spec("httpx") is None:
        return []
    from crestline.web.mcp.server import AgentEndpoint

    return [AgentEndpoint(app, hosts)]


def _service_state(request: Request) -> ServiceState:
    state: ServiceState = request.app.state.service
    return state


def _caller_of_request(
    request: Request,
    state: Annotated[ServiceState, Depends(_service_state)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    caller = caller_by_token(state, credentials.credentials if credentials else "")
    request.state.analyst = caller.person.name
    return caller


CurrentState = Annotated[ServiceState, Depends(_service_state)]
Known = Annotated[Caller, Depends(_caller_of_request)]


@api.post("/datasets/{name}/top", response_model=AnswerBody)
async def top(
    request: Request,
    name: str,
    request_body: TopRequest,
    state: CurrentState,
    caller: Known,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """The most popular items, as far as they can be named privately; charged before a row is read.

    With an Idempotency-Key, a request that is sent again is answered again, and not charged again.
    """
    question = QueuedQuestion(caller, name, _question(request_body, state.config.limits.k), idempotency_key)
    return JSONResponse(await answer_from_queue(state, question, request.is_disconnected))


@api.post("/datasets/{name}/price", response_model=PriceBody)
async def price(
    request: Request, name: str, request_body: TopRequest, state: CurrentState, caller: Known
) -> JSONResponse:
    """What a question would cost you at most and at least; nothing is charged, and no row is read."""
    dataset, question = caller.dataset(state, name), _question(request_body, state.config.limits.k)

    def work() -> Price:
        return price_question(state, caller, dataset, question, system())

    return JSONResponse(encode_price(await run_unpaid(state, caller, name, work, request.is_disconnected)))


@api.post("/sql", response_model=SqlBody)
async def sql(
    request: Request,
    request_body: SqlRequest,
    state: CurrentState,
    caller: Known,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Response:
    """The answer to a SQL query that is a question; charged before a row is read.

    Such as SELECT item, COUNT(DISTINCT user) FROM … GROUP BY item ORDER BY 2 DESC LIMIT 10.
    """
    dataset = caller.dataset(state, request_body.dataset)
    name, most_items, has_left = dataset.config.name, state.config.limits.k, request.is_disconnected
    statement = await run_unpaid(state, caller, name, lambda: read_request(request_body, dataset, most_items), has_left)
    if statement.kind is Kind.NOTHING:
        return JSONResponse(result_json(statement))
    asked = question_of(statement, request_body)
    if statement.kind is Kind.PRICE:
        cost = await run_unpaid(
            state, caller, name, lambda: price_question(state, caller, dataset, asked, system()), has_left
        )
        return JSONResponse(result_json(statement, price=str(cost)))
    answer = await answer_from_queue(state, QueuedQuestion(caller, name, asked, idempotency_key), has_left)
    return JSONResponse(result_json(statement, answer))


def _question(request_body: TopRequest, most: int) -> Question:
    """The question as it was sent: numbers are read as they are written, and what the data set decides is left out.

    All items are as many as the service allows.
    """
    fields = request_body.model_dump()
    all_items = {"k": min(most, MOST_NAMED)} if fields["k"] == ALL else {}
    return Question.from_fields(cast(QuestionFields, fields | all_items))


@api.get("/datasets", response_model=Datasets)
def datasets(state: CurrentState, caller: Known) -> dict[str, Any]:
    """The data sets you may ask, with their columns."""
    return {"datasets": [_dataset_body(part, state) for part in caller.visible_datasets(state)]}


def _dataset_body(dataset: ServedDataset, state: ServiceState) -> dict[str, Any]:
    config = dataset.config
    columns = {"user": config.user, "items": list(config.items), "filters": list(config.filters)}
    more = {"sums": list(config.sums), "domains": sorted(config.domains), "groups": list(config.groups)}
    bounds = {"contribution": config.contribution, "version": config.version, "most_k": state.config.limits.k}
    named = {"name": config.name, "title": config.title, "description": config.description}
    return {**named, **columns, **more, **bounds}


@api.get("/budget", response_model=Budgets, response_model_exclude_unset=True)
def budget(state: CurrentState, caller: Known) -> dict[str, Any]:
    """What may be spent, what is, and what is left: of your own budgets, or, for an owner, of all."""
    accounts = caller.accounts(state)
    periods = [one for whole in accounts for one in state.datasets[whole.dataset].ledger.periods(whole.analyst)]
    return {"budgets": [account_decimals(account) for account in (*accounts, *periods)]}


@api.get("/answers/{id}", response_model=AnswerBody)
def answer(id: Annotated[int, Path(ge=0, le=2**63 - 1)], state: CurrentState, caller: Known) -> JSONResponse:
    """An answer you were given before, at no cost."""
    return JSONResponse(stored_answer_json(state, caller, id))


@open_to_all.get("/healthz", response_model=Health)
async def healthz() -> dict[str, str]:
    """Whether the process answers, however busy its threads are."""
    return {"status": "ok"}


@open_to_all.get(
    "/readyz",
    response_model=Health,
    responses={503: {"model": Error}},
    openapi_extra={"security": [{}]},  # a token is read where one is sent, and not needed
)
def readyz(
    request: Request,
    state: CurrentState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> dict[str, str]:
    """Whether questions can be answered: the ledger and its witness can be written.

    Why not is said to the machine itself and to an owner's token, and is in the log. Databases are asked before each
    question.
    """
    fault = state.readiness.find()
    if fault is None:
        return {"status": "ok"}
    raise Problem(503, "not_ready", fault if _is_operator(request, state, credentials) else "Not ready.", reason=fault)


def _is_operator(request: Request, state: ServiceState, credentials: HTTPAuthorizationCredentials | None) -> bool:
    """Whether a request comes from this machine or from an owner, as far as the ledger can tell in a moment."""
    if sent_from_this_machine(request):
        return True
    try:
        with end_within(1.0):
            return credentials is not None and _is_owner(state, credentials)
    except (Problem, LedgerError):
        return False


@open_to_all.get("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """The description, for people."""
    return api_page(request.app.openapi())


@open_to_all.get("/metrics", response_class=PlainTextResponse, responses={403: _ERRORS[403], 429: _ERRORS[429]})
def metrics(
    request: Request,
    state: CurrentState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Response:
    """Counts and times for Prometheus: for an owner's token, and without one for this machine itself."""
    if not sent_from_this_machine(request) and not _is_owner(state, credentials):
        raise forbidden_problem()
    with end_within(_SCRAPE_SECONDS):
        return Response(state.metrics.text(ledger_gauges(state)), media_type=CONTENT_TYPE)


def _is_owner(state: ServiceState, credentials: HTTPAuthorizationCredentials | None) -> bool:
    return caller_by_token(state, credentials.credentials if credentials else "").is_owner


def _problem_response(request: Request, problem: Problem) -> Response:
    request.state.error, request.state.reason = problem.code, problem.reason
    headers = None if problem.wait is None else {"Retry-After": str(problem.wait)}
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
        return error_page(request, problem)
    return JSONResponse(error_body(problem, request.state.request_id), status_code=problem.status, headers=headers)


def _handle_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return _problem_response(request, error)


def _handle_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, CrestlineError)
    return _problem_response(request, problem_of(error))


def _handle_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    parts = [f"{'.'.join(str(step) for step in part['loc'])}: {part['msg']}" for part in error.errors()[:5]]
    return _problem_response(request, Problem(422, "invalid_request", "; ".join(parts)))


def _handle_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    codes = {404: ("no_such_route", "There is nothing at this address; /docs lists what there is.")}
    code, message = codes.get(error.status_code, ("bad_request", str(error.detail)))
    return _problem_response(request, Problem(error.status_code, code, message))
