"""Pipelines: schedules are data, actors are pure, and the runtime performs what they say."""

from flow_pipeline.actor import Actor as Actor
from flow_pipeline.actor import Crew as Crew
from flow_pipeline.bus import Bus as Bus
from flow_pipeline.clock import play as play
from flow_pipeline.credits import credits as credits
from flow_pipeline.credits import plan_of as plan_of
from flow_pipeline.credits import schedule_of as schedule_of
from flow_pipeline.plan import Edge as Edge
from flow_pipeline.plan import Plan as Plan
from flow_pipeline.plan import Task as Task
from flow_pipeline.runtime import PipelineError as PipelineError
from flow_pipeline.runtime import Runtime as Runtime
from flow_pipeline.runtime import StallError as StallError
from flow_pipeline.runtime import run as run
from flow_pipeline.schedule import Action as Action
from flow_pipeline.schedule import Schedule as Schedule
from flow_pipeline.schedules import schedule as schedule
from flow_pipeline.simulate import Costs as Costs
from flow_pipeline.simulate import Timeline as Timeline
from flow_pipeline.simulate import simulate as simulate
