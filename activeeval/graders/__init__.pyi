from activeeval.graders.prompts import Prompt as Prompt
